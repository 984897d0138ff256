import { defineEntity, p } from '@mikro-orm/core'
import { v7 as uuidv7, validate as isUuid } from 'uuid'
import { momentOf } from './clock.ts'

/** A fresh identifier: UUIDv7, so that ids made later sort later. */
export const newId = () => uuidv7()

/** The identifier that a text names, in lower case as both databases keep it (RFC 9562 takes either); null when it names none. */
export const idOf = (text: string): string | null => (isUuid(text) ? text.toLowerCase() : null)

/** What every row has: an identifier and the moment it was made. */
export const Base = defineEntity({
  name: 'Base',
  abstract: true,
  properties: {
    id: p.uuid().primary().onCreate(newId),
    createdAt: p.datetime(3).onCreate((_row, em) => momentOf(em)),
  },
})
