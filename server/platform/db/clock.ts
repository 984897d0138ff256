/** An entity manager, which identifies its database by its driver. */
type Manager = { getDriver(): object }

/** By driver, because new rows are stamped with only an entity manager at hand. */
const clocks = new WeakMap<object, () => Date>()

/** Sets the clock of this database. `createdAt` of new rows defaults to its time. */
export const setClock = (em: Manager, now: () => Date): void => void clocks.set(em.getDriver(), now)

/** Returns the current time according to the clock of this database. */
export const currentTimeOf = (em: Manager): Date => clocks.get(em.getDriver())?.() ?? new Date()
