/** What stands for somebody whose account is gone. */
export const deletedUser = 'deleted user'

type Person = { userId: string; displayName: string; email: string }

/** A person of an entry as REST shows them; null for nobody. */
export const agent = (id: string | null, person: Person | null) =>
  id === null ? null : (person ?? { userId: id, displayName: deletedUser, email: null })
