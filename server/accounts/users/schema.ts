import { builder } from '../../platform/graphql/builder.ts'
import { replacedBy } from '../../platform/graphql/former-schema.ts'
import { User } from './entity.ts'
import { canChangeAccess, canEdit, canSeeBelongings, isOneself } from './policy.ts'
import { avatarUrl, RoleEnum, accountStatus, UserKindEnum, UserRef, UserStatus } from './refs.ts'

builder.node(UserRef, {
  description: 'A user account on this server.',
  id: { resolve: (user) => user.id },
  loadOne: (id, context) => {
    if (isOneself(context, { id })) return context.viewer
    return canSeeBelongings(context, { id }) ? context.em.findOne(User, id, { populate: ['passwordHash'] }) : null
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `userId`.' }),
    email: t.exposeString('email', { description: 'E-mail address to sign in with. Unique, case-insensitive.' }),
    displayName: t.exposeString('displayName', { description: 'Display name.' }),
    kind: t.expose('kind', { type: UserKindEnum, description: 'Whether a person or a program uses the account.' }),
    role: t.expose('role', { type: RoleEnum, description: 'The role.' }),
    isActive: t.exposeBoolean('isActive', { description: 'False if an administrator has disabled the account.' }),
    mustChangePassword: t.exposeBoolean('mustChangePassword', {
      description: 'Whether the user must choose a new password before anything else.',
    }),
    status: t.field({ type: UserStatus, description: 'State of the account.', resolve: accountStatus }),
    avatarUrl: t.string({
      nullable: true,
      description:
        'Path of the picture on this server; null without one. The path changes with the picture, so responses may be cached indefinitely.',
      resolve: (user, _args, { config }) => avatarUrl(user, config),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
    lastLoginAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the user last signed in with a password; null for other users than this user and administrators.',
      // Anonymous callers see only the account that they are signing in to.
      resolve: (user, _args, context) => (!context.viewer || canSeeBelongings(context, user) ? (user.lastLoginAt ?? null) : null),
    }),
    viewerCanEdit: t.boolean({
      description:
        'Whether you may change the name and reset the password of this account, and revoke its sessions and tokens: administrators may, except for the owner.',
      resolve: (user, _args, context) => canEdit(context, user),
    }),
    viewerCanChangeAccess: t.boolean({
      description:
        'Whether you may change the role and active state of this account, or delete it: administrators may, except for the owner and themselves.',
      resolve: (user, _args, context) => canChangeAccess(context, user),
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'The signed-in user; null for anonymous requests.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: (_root, _args, { viewer }) => viewer,
  }),
)

builder.queryField('me', (t) =>
  t.withAuth({ identity: true }).field({
    type: UserRef,
    description: 'The signed-in user; an error for anonymous requests.',
    deprecationReason: replacedBy('viewer'),
    skipTypeScopes: true,
    resolve: (_root, _args, { viewer }) => viewer,
  }),
)
