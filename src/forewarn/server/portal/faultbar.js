// The faults in force, which nobody should take for the truth.

/** @returns {unknown} */
export function FaultBar() {
  return null;
}
