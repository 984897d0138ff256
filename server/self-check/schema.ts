import { builder } from '../graphql/builder.ts'
import {
  type ClockFacts,
  clocksOf,
  type RequestFacts,
  requestFacts,
  type SettingFacts,
  settingsOf,
  type StorageFacts,
  storageOf,
} from './service.ts'

const SettingRef = builder.objectRef<SettingFacts>('ConfigurationValue').implement({
  description: 'A variable of the configuration.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.exposeString('value', { description: 'What it is; asterisks for a secret.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'Why it weakens security, if it does.' }),
  }),
})

const StorageRef = builder.objectRef<StorageFacts>('StorageFacts').implement({
  description: 'Where the archives are.',
  fields: (t) => ({
    backend: t.exposeString('backend', { description: '`filesystem` or `s3`.' }),
    path: t.exposeString('path', { nullable: true, description: 'The folder, or the bucket.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'What is wrong with it, if anything.' }),
    freeBytes: t.expose('freeBytes', { type: 'BigInt', nullable: true, description: 'Room that is left, where that is known.' }),
  }),
})

const ClocksRef = builder.objectRef<ClockFacts>('ClockFacts').implement({
  description: 'What time it is.',
  fields: (t) => ({
    server: t.expose('server', { type: 'DateTime', description: 'For the server.' }),
    database: t.expose('database', { type: 'DateTime', description: 'For the database.' }),
  }),
})

const RequestRef = builder.objectRef<RequestFacts>('RequestFacts').implement({
  description: 'How this very request looks from the server.',
  fields: (t) => ({
    clientAddress: t.exposeString('clientAddress', { description: 'Whom the server believes to be asking; limits count by it.' }),
    peerAddress: t.exposeString('peerAddress', {
      nullable: true,
      description: 'Who opened the connection: the last proxy, if there is one.',
    }),
    host: t.exposeString('host', { nullable: true, description: 'The Host header.' }),
    forwardedFor: t.exposeString('forwardedFor', { nullable: true, description: 'What a proxy says of who is asking.' }),
    forwardedProto: t.exposeString('forwardedProto', { nullable: true, description: 'What a proxy says of how they ask.' }),
    isSecure: t.exposeBoolean('isSecure', { description: 'Whether the server believes the connection to be encrypted.' }),
  }),
})

const SelfCheckRef = builder.objectRef<object>('SelfCheck').implement({
  description: 'What the server knows of its own surroundings.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    configuration: t.field({
      type: [SettingRef],
      description: 'The effective configuration.',
      resolve: (_check, _args, context) => settingsOf(context),
    }),
    storage: t.field({ type: StorageRef, description: 'Where the archives are.', resolve: (_check, _args, context) => storageOf(context) }),
    clocks: t.field({ type: ClocksRef, description: 'What time it is.', resolve: (_check, _args, context) => clocksOf(context) }),
    request: t.field({
      type: RequestRef,
      description: 'How this request arrived.',
      resolve: (_check, _args, context) => requestFacts(context),
    }),
  }),
})

builder.queryField('selfCheck', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: SelfCheckRef,
    description: 'What the server knows of its own surroundings; for administrators.',
    resolve: () => ({}),
  }),
)
