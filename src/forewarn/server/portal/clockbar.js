// The service's clock, where it is not the system's.

/** @returns {unknown} */
export function ClockBar() {
  return null;
}
