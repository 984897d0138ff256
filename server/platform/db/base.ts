import { defineEntity, p } from '@mikro-orm/core'
import { v7 as uuidv7, validate as isUuid } from 'uuid'

/** Returns a new identifier (UUIDv7, which sorts by creation time). */
export const newId = () => uuidv7()

/** Returns the UUID in lower case, as both databases store it (RFC 9562 allows either case), or null if the text is not a UUID. */
export const idOf = (text: string): string | null => (isUuid(text) ? text.toLowerCase() : null)

/** Columns that every entity has: an identifier and a creation time. */
export const Base = defineEntity({
  name: 'Base',
  abstract: true,
  properties: {
    id: p.uuid().primary().onCreate(newId),
    createdAt: p.datetime(3).onCreate((_row, em) => currentTimeOf(em)),
  },
})

/** An entity manager, which identifies its database by its driver. */
type Manager = { getDriver(): object }

/** By driver, because new rows are stamped with only an entity manager at hand. */
const clocks = new WeakMap<object, () => Date>()

/** Sets the clock of this database. `createdAt` of new rows defaults to its time. */
export const setClock = (em: Manager, now: () => Date): void => void clocks.set(em.getDriver(), now)

/** Returns the current time according to the clock of this database. */
export const currentTimeOf = (em: Manager): Date => clocks.get(em.getDriver())?.() ?? new Date()
