// The service's clock, as it can be told between two answers.

/** A clock that runs as the service's does: as usual, N times as fast, or by hand. */
export class ServiceClock {
  /**
   * @param {string} name "system", "xN" or "manual"
   * @param {number} told the time that the service told, in ms
   * @param {() => number} elapsed real milliseconds, such as `performance.now`
   */
  constructor(name, told, elapsed) {
    this.name = name;
    this.rate = rateOf(name);
    this.told = told;
    this.elapsed = elapsed;
    this.since = elapsed();
  }

  /** @returns {number} the service's time in ms */
  now() {
    return this.told + (this.elapsed() - this.since) * this.rate;
  }

  get isSystem() {
    return this.name === "system";
  }

  get isManual() {
    return this.name === "manual";
  }
}

/**
 * Say how fast a clock of this name runs.
 * @param {string} name
 */
export function rateOf(name) {
  if (name === "manual") return 0;
  return name.startsWith("x") ? Number(name.slice(1)) : 1;
}
