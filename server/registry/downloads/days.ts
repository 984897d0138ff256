/** Returns the day number of a date: days since 1970-01-01 in UTC. */
export const dayOf = (moment: Date): number => Math.floor(moment.getTime() / msPerDay)

/** Returns when a day begins. */
export const startOfDay = (day: number): Date => new Date(day * msPerDay)

/** Returns the last day before the 30-day window. The window consists of today and the 29 days before. */
export const lastDayBeforeWindow = (today: number): number => today - 30

const msPerDay = 86_400_000
