import type { Role, Scope } from '../roles/roles.ts'
import type { Viewer } from '../roles/viewer.ts'

type Caller = { viewer: Pick<Viewer, 'id'> | null; scopes: ReadonlySet<Scope> }
type Account = { id: string; role: Role }

/** Nobody edits, resets, disables or deletes the owner, nor ends their sessions: the ownership is transferred instead. */
export const isOutOfReach = ({ role }: Pick<Account, 'role'>): boolean => role === 'owner'

/** Whether the caller may change somebody's name and password, and end their sessions and tokens. */
export const canEdit = ({ scopes }: Pick<Caller, 'scopes'>, account: Account): boolean => scopes.has('admin') && !isOutOfReach(account)

/** Whether the caller may change somebody's role and activity, or delete the account: never one's own. */
export const canChangeAccess = (caller: Caller, account: Account): boolean => canEdit(caller, account) && caller.viewer?.id !== account.id
