import type { EntityManager } from '@mikro-orm/sql'
import { idOf } from '../../platform/db/base.ts'
import { User } from './entity.ts'
import { emailKey } from './input.ts'

/** An id that no user has, so that a filter by an unknown address matches nothing. */
const unknownUser = '00000000-0000-0000-0000-000000000000'

/** Returns the id of a user given by e-mail address or id. */
export async function personId(em: EntityManager, person: string): Promise<string> {
  const id = idOf(person)
  if (id) return id
  const user = await em.findOne(User, { emailKey: emailKey(person) }, { fields: ['id'] })
  return user?.id ?? unknownUser
}
