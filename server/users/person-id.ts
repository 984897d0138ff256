import type { EntityManager } from '@mikro-orm/sql'
import { idOf } from '../db/base.ts'
import { User } from './entity.ts'
import { emailKey } from './input.ts'

/** Nobody has it, so an address that nobody has finds nothing. */
const nobody = '00000000-0000-0000-0000-000000000000'

/** The id of a person whom a filter names by e-mail address or by id. */
export async function personId(em: EntityManager, person: string): Promise<string> {
  const id = idOf(person)
  if (id) return id
  const user = await em.findOne(User, { emailKey: emailKey(person) }, { fields: ['id'] })
  return user?.id ?? nobody
}
