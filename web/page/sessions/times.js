/** Moments, durations and sizes as people read them. */

/** @type {(ms: number) => string} m:ss.t, and hours where there are any */
export function clock(ms) {
  const tenths = Math.floor(ms / 100);
  const [hours, minutes] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60];
  const seconds = ((tenths % 600) / 10).toFixed(1).padStart(4, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

/** @type {(seconds: number) => string} */
export function lasted(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const left = Math.floor(seconds % 60);
  return minutes < 60 ? `${minutes} min ${left} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @type {(bytes: number) => string} */
export const size = (bytes) => (bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`);

/** @type {(iso: string | null) => string} in the reader's own time zone */
export function day(iso) {
  if (!iso) return "";
  return new Date(iso).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "medium" });
}

/** A step between lines of a ruler that leaves `room` px between them. @type {(msPerPx: number, room: number) => number} */
export function step(msPerPx, room) {
  const steps = [100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5];
  return steps.find((one) => one >= msPerPx * room) ?? 36e5;
}
