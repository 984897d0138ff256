import { UserRef } from '../../../accounts/users/refs.ts'
import { label } from '../../../accounts/users/input.ts'
import { loadUser } from '../../../accounts/users/service.ts'
import { type Context, isSignedIn } from '../../../platform/access/context.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf, done, payload } from '../../../platform/graphql/payload.ts'
import { loadPublisher } from '../../publishers/list.ts'
import { PublisherRef } from '../../publishers/refs.ts'
import { CheckRef, LockedRef, maxLength } from '../schema.ts'
import type { UpgradeCheck } from '../service.ts'
import type { SavedApp } from './entity.ts'
import { canChangeApp, changedSince, checkApp, deleteApp, findApp, listApps, loadLock, maxApps, saveApp } from './service.ts'

const AppRef = builder.objectRef<SavedApp>('SavedApp')
const appId = { required: true as const, for: [AppRef], description: 'Global id of the application.' }

/** Checks of saved files, once per request. */
const checks = new WeakMap<Context, Map<string, Promise<UpgradeCheck | null>>>()

/** Returns the check of an application, which several fields share. Null without signing in, which its parents require. */
async function checkOf(context: Context, app: SavedApp): Promise<UpgradeCheck | null> {
  if (!isSignedIn(context)) return null
  const known = checks.get(context) ?? new Map<string, Promise<UpgradeCheck | null>>()
  checks.set(context, known)
  const check = known.get(app.id) ?? checkApp(context, app)
  known.set(app.id, check)
  return check
}

builder.node(AppRef, {
  description: 'The pubspec.lock of an application, which you or a publisher saved by name.',
  id: { resolve: ({ id }) => id },
  loadOne: (id, context) => (isSignedIn(context) ? findApp(context, id) : null),
  authScopes: { scope: 'read' },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    name: t.exposeString('name', { description: 'Name of the application.' }),
    savedAt: t.expose('savedAt', { type: 'DateTime', description: 'When the file was last saved.' }),
    savedBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who last saved it; null if that account was deleted.',
      resolve: ({ savedBy }, _args, context) => (savedBy ? loadUser(context, savedBy.id) : null),
    }),
    publisher: t.field({
      type: PublisherRef,
      nullable: true,
      description: 'The publisher that owns it; null if you do.',
      resolve: ({ publisher }, _args, context) => (publisher ? loadPublisher(context, publisher.id) : null),
    }),
  }),
})

builder.objectFields(AppRef, (t) => ({
  lock: t.string({
    nullable: true,
    extensions: { cost: 5 },
    description: 'The saved content of the pubspec.lock.',
    resolve: ({ id }, _args, context) => loadLock(context, id),
  }),
  check: t.field({
    type: CheckRef,
    nullable: true,
    extensions: { cost: 20 },
    description: 'The packages of the file, compared with the latest versions now.',
    resolve: (app, _args, context) => checkOf(context, app),
  }),
  changed: t.field({
    type: [LockedRef],
    nullable: true,
    extensions: { cost: 20, size: 10 },
    description: 'Packages of which a later version or an advisory was published after the file was saved.',
    resolve: async (app, _args, context) => {
      const check = await checkOf(context, app)
      if (!check || !isSignedIn(context)) return null
      const isChanged = await Promise.all(check.packages.map((locked) => changedSince(context, locked, app.savedAt)))
      return check.packages.filter((_, index) => isChanged[index])
    },
  }),
  viewerCanChange: t.boolean({
    description: 'Whether you can save it again and delete it.',
    resolve: (app, _args, context) => viewerCan(context, canChangeApp, app),
  }),
}))

const publisher = 'Id of a publisher of which you are a member; null for your own.'

builder.queryFields((t) => ({
  savedApps: t.withAuth({ scope: 'read' }).connection(
    {
      type: AppRef,
      nullable: true,
      description: 'Applications whose pubspec.lock you or a publisher saved, by name.',
      args: { publisher: t.arg.string({ description: publisher }) },
      resolve: (_root, { publisher: slug, ...page }, context) => listApps(context, slug, page),
    },
    connectionOf(AppRef),
  ),
  savedApp: t.withAuth({ scope: 'read' }).field({
    type: AppRef,
    nullable: true,
    description: 'A saved application; null if you cannot see it.',
    args: { appId: t.arg.globalID(appId) },
    resolve: (_root, { appId: { id } }, context) => findApp(context, id),
  }),
}))

builder.mutationFields((t) => ({
  saveApp: t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('SaveAppPayload', 'The saved application.', { app: { type: AppRef, description: 'The application.' } }),
    description: `Saves the pubspec.lock of an application by name, in place of the former file. At most ${maxApps} per user and publisher.`,
    typeOptions: { description: 'The application to save.' },
    argOptions: { description: 'What to save.' },
    input: {
      name: t.input.string({ required: true, description: 'Name of the application.', validate: label(100) }),
      lock: t.input.string({ required: true, description: 'Content of the pubspec.lock.', extensions: { maxLength } }),
      publisher: t.input.string({ description: publisher }),
    },
    resolve: async (_root, { input }, context) => ({ app: await saveApp(context, input) }),
  }),
  deleteApp: t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('DeleteAppPayload', 'The deleted application.', {
      deletedAppId: { type: 'ID', description: 'Global id of the application.' },
    }),
    description: 'Deletes a saved application with its file.',
    typeOptions: { description: 'The application to delete.' },
    argOptions: { description: 'What to delete.' },
    input: { appId: t.input.globalID(appId) },
    resolve: (_root, { input: { appId } }, context) =>
      done(deleteApp(context, appId.id), { deletedAppId: encodeGlobalID(appId.typename, appId.id) }),
  }),
}))
