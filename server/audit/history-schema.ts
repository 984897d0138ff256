import { builder } from '../graphql/builder.ts'
import { accountScope } from '../roles/viewer.ts'
import { UserRef } from '../users/refs.ts'
import { listSecurityHistory } from './history.ts'
import { listAuditEntries } from './list.ts'
import { AuditEntryRef } from './refs.ts'

builder.objectField(UserRef, 'securityHistory', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      authScopes: (user, _args, { viewer }) => accountScope(user, viewer),
      description:
        'Sign-ins and attempts, passwords, tokens and sessions of this account, newest first; null for anybody but its owner and administrators. A token needs the scope WRITE.',
      resolve: (user, args, { em, viewer, scopes }) =>
        viewer?.id === user.id || scopes.has('admin') ? listSecurityHistory(em, user.id, args) : null,
    },
    { description: "A page of an account's security history." },
    { description: 'An entry in a page.' },
  ),
)

builder.objectField(UserRef, 'activity', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      authScopes: (user, _args, { viewer }) => accountScope(user, viewer),
      description: 'What they did, newest first; null unless it is you or you administer the server. A token needs the scope WRITE.',
      resolve: ({ id }, args, { em, viewer, scopes }) =>
        viewer?.id === id || scopes.has('admin') ? listAuditEntries(em, { actor: id }, args) : null,
    },
    { description: 'A page of what somebody did.' },
    { description: 'An entry in a page.' },
  ),
)
