/** The day of a moment, counted from 1970-01-01 in UTC. */
export const dayOf = (moment: Date): number => Math.floor(moment.getTime() / msPerDay)

/** The moment at which a day begins. */
export const startOfDay = (day: number): Date => new Date(day * msPerDay)

/** "The last thirty days" are those after this one: today and the 29 before it. */
export const windowEnd = (today: number): number => today - 30

const msPerDay = 86_400_000
