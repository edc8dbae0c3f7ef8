// Asks for the story of one maintenance, and again whenever it goes on.

import { path } from "../service/api.js";
import { concerned } from "../service/concerned.js";
import { useApp, useEffect, useModel, useState } from "../view.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").Entry} Entry */

/**
 * @typedef {object} Told
 * @property {Item | null} item null: the service does not show it
 * @property {import("../types").Explanation} explanation
 * @property {import("../types").Story} story
 */

/**
 * Keep the story of a maintenance, or of the one that has this event.
 * @param {string} id
 * @returns {{told: Told | null, refusal: string}}
 */
export function useStory(id) {
  const { api } = useApp();
  const model = useModel();
  const [told, setTold] = useState(/** @type {Told | null} */ (null));
  const [refusal, setRefusal] = useState("");
  const known = told?.item?.maintenance ?? null;
  const item = model.items.get(known?.id ?? id) ?? told?.item ?? null;
  const ids = known ? [known.id, ...known.events.map((each) => each.id)] : [id];
  const last = lastOf(model.facts, new Set(ids));

  useEffect(() => {
    const asking = new AbortController();
    ask(api, id, asking.signal)
      .then((answers) => {
        setTold(answers);
        setRefusal("");
      })
      .catch((/** @type {Error} */ error) => {
        if (!asking.signal.aborted) setRefusal(error.message);
      });
    return () => asking.abort();
  }, [id, last, item?.due, model.clock.told]); // sentences tell how long it is until

  return { told: told && { ...told, item }, refusal };
}

/**
 * @param {import("../service/api.js").Api} api
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Told>}
 */
async function ask(api, id, signal) {
  const [overview, explanation, story] = await Promise.all([
    api.get(`/v1/overview?id=${encodeURIComponent(id)}`, signal),
    api.get(path`/v1/maintenances/${id}/explain`, signal),
    api.get(path`/v1/maintenances/${id}/story`, signal),
  ]);
  return { item: overview.items[0] ?? null, explanation, story };
}

/**
 * Find the last fact that tells of one of these.
 * @param {Entry[]} facts the newest first
 * @param {Set<string>} ids
 */
function lastOf(facts, ids) {
  const found = facts.find((each) => concerned(each).some((one) => ids.has(one)));
  return found?.position ?? 0;
}
