// The service's clock, extrapolated between two responses.

/** A clock that runs like the service's: in real time, N times as fast, or manually. */
export class ServiceClock {
  /**
   * @param {string} name "system", "xN" or "manual"
   * @param {number} reported the service's time when this clock is created, in ms
   * @param {() => number} elapsed real milliseconds, such as `performance.now`
   */
  constructor(name, reported, elapsed) {
    this.name = name;
    this.rate = rateOf(name);
    this.reported = reported;
    this.elapsed = elapsed;
    this.since = elapsed();
  }

  /** @returns {number} the service's time in ms */
  now() {
    return this.reported + (this.elapsed() - this.since) * this.rate;
  }

  get isSystem() {
    return this.name === "system";
  }

  get isManual() {
    return this.name === "manual";
  }
}

/**
 * Return the speed of the clock with this name; 1 is real time, and 0 is paused.
 * @param {string} name
 */
export function rateOf(name) {
  if (name === "manual") return 0;
  return name.startsWith("x") ? Number(name.slice(1)) : 1;
}
