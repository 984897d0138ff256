import { builder } from '../../platform/graphql/builder.ts'
import { belongingsScope, canSeeBelongings } from '../users/policy.ts'
import { UserRef } from '../users/refs.ts'
import { listSecurityHistory } from './history.ts'
import { listAuditEntries } from './list.ts'
import { AuditEntryRef } from './refs.ts'

builder.objectField(UserRef, 'securityHistory', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description:
        'Sign-ins and attempts, passwords, tokens and sessions of this account, newest first; null for other users than its owner and administrators. A token needs the scope WRITE.',
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listSecurityHistory(context.em, user.id, args) : null),
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
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description: 'Actions of this user, newest first; null unless you are this user or an administrator. A token needs the scope WRITE.',
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listAuditEntries(context.em, { actor: user.id }, args) : null),
    },
    { description: 'A page of actions of a user.' },
    { description: 'An entry in a page.' },
  ),
)
