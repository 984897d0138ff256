/** What knows its database: an entity manager. */
type Manager = { getDriver(): object }

const clocks = new WeakMap<object, () => Date>()

/** Makes rows of this database that are given no moment have the one of `now`. */
export const setClock = (em: Manager, now: () => Date): void => void clocks.set(em.getDriver(), now)

/** What time it is for the database of `em`. */
export const momentOf = (em: Manager): Date => clocks.get(em.getDriver())?.() ?? new Date()
