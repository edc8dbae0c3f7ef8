import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const HANDLER = import.meta.filename.replace(".test.", "."); // TypeScript or compiled

/** Rehearse a scenario with the handler; if it fails, show forewarn's verdict. */
async function rehearse(scenario: string): Promise<void> {
  const program = ["--", process.execPath, HANDLER];
  try {
    await run("forewarn", ["rehearse", "--quiet", scenario, ...program]);
  } catch (error: any) {
    throw new Error(`${error.message}\n${error.stdout}`);
  }
}

test("it drains before it approves", () => rehearse("../drains-first.toml"));

test("it handles a user reboot", () => rehearse("user-reboot"));

test("it survives an outage of the service", () => rehearse("outage"));
