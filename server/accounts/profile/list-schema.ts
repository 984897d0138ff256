import { builder } from '../../platform/graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { notNegative, partOfText } from '../../platform/graphql/connections.ts'
import { idOf } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { listUsers } from './list.ts'
import { RoleEnum, UserRef, UserStatus } from '../users/refs.ts'

const UserOrderEnum = builder.enumType('UserOrder', {
  description: 'How to sort users.',
  values: {
    CREATED: { value: 'created', description: 'Newest first.' },
    EMAIL: { value: 'email', description: 'By e-mail address.' },
  },
})

builder.queryField('users', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: UserRef,
      description: 'The users of this server, for administrators.',
      args: {
        email: t.arg.string({ description: 'Part of the e-mail address, case-insensitive.', ...partOfText }),
        query: t.arg.string({ description: 'Part of the e-mail address or name, case-insensitive.', ...partOfText }),
        role: t.arg({ type: RoleEnum, description: 'Only users with this role.' }),
        status: t.arg({ type: UserStatus, description: 'Only accounts in this state.' }),
        idleSince: t.arg({
          type: 'DateTime',
          description: 'Only users who have not signed in since this time. For accounts that never signed in, the time of creation counts.',
        }),
        orderBy: t.arg({ type: UserOrderEnum, description: 'Sort order. Default: CREATED.' }),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { orderBy, ...args }, { em }) => listUsers(em, args, orderBy ?? 'created', args),
    },
    { description: 'A page of users.' },
    { description: 'A user in a page.' },
  ),
)

builder.queryField('user', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: UserRef,
    nullable: true,
    description: 'A user by e-mail address or plain identifier, for administrators.',
    args: {
      email: t.arg.string({ description: 'The e-mail address, case-insensitive.' }),
      uuid: t.arg.id({ description: 'The plain identifier, as REST shows it.' }),
    },
    resolve: (_root, { email, uuid }, context) => {
      const id = uuid == null ? null : idOf(uuid)
      if (uuid != null) return id ? loadUser(context, id) : null
      return context.em.findOne(User, { emailKey: emailKey(email ?? '') }, { populate: ['passwordHash'] })
    },
  }),
)
