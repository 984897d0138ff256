import { builder } from '../../../platform/graphql/builder.ts'
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
  description: 'A setting.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the setting.' }),
    value: t.exposeString('value', { description: 'Value; asterisks for a secret.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'Explanation if the value weakens security.' }),
  }),
})

const StorageRef = builder.objectRef<StorageFacts>('StorageFacts').implement({
  description: 'The archive store.',
  fields: (t) => ({
    backend: t.exposeString('backend', { description: '`filesystem` or `s3`.' }),
    path: t.exposeString('path', { nullable: true, description: 'The folder, or the bucket.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'Error message, if the store does not work.' }),
    freeBytes: t.expose('freeBytes', { type: 'BigInt', nullable: true, description: 'Free space in bytes, if known.' }),
  }),
})

const ClocksRef = builder.objectRef<ClockFacts>('ClockFacts').implement({
  description: 'Times of the server and of the database.',
  fields: (t) => ({
    server: t.expose('server', { type: 'DateTime', description: 'Time of the server.' }),
    database: t.expose('database', { type: 'DateTime', description: 'Time of the database.' }),
  }),
})

const RequestRef = builder.objectRef<RequestFacts>('RequestFacts').implement({
  description: 'This request as seen by the server.',
  fields: (t) => ({
    clientAddress: t.exposeString('clientAddress', { description: 'Client address as determined by the server, used for rate limits.' }),
    peerAddress: t.exposeString('peerAddress', {
      nullable: true,
      description: 'Address of the connected peer: the last proxy, if there is one.',
    }),
    host: t.exposeString('host', { nullable: true, description: 'The Host header.' }),
    forwardedFor: t.exposeString('forwardedFor', { nullable: true, description: 'The X-Forwarded-For header.' }),
    forwardedProto: t.exposeString('forwardedProto', { nullable: true, description: 'The X-Forwarded-Proto header.' }),
    isSecure: t.exposeBoolean('isSecure', { description: 'Whether the server considers the connection encrypted.' }),
  }),
})

const SelfCheckRef = builder.objectRef<object>('SelfCheck').implement({
  description: 'Environment of the server: settings, storage, clocks and this request.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    configuration: t.field({
      type: [SettingRef],
      description: 'The effective configuration.',
      resolve: (_check, _args, context) => settingsOf(context),
    }),
    storage: t.field({ type: StorageRef, description: 'The archive store.', resolve: (_check, _args, context) => storageOf(context) }),
    clocks: t.field({
      type: ClocksRef,
      description: 'Times of the server and of the database.',
      resolve: (_check, _args, context) => clocksOf(context),
    }),
    request: t.field({
      type: RequestRef,
      description: 'This request as seen by the server.',
      resolve: (_check, _args, context) => requestFacts(context),
    }),
  }),
})

builder.queryField('selfCheck', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: SelfCheckRef,
    description: 'Environment of the server: settings, storage, clocks and this request. For administrators.',
    resolve: () => ({}),
  }),
)
