import { builder } from '../../platform/graphql/builder.ts'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { checkDomainNow, loadDomainCheck, recordHost, recordValue } from './domain-check.ts'
import type { DomainCheck } from './entity.ts'
import { publisherName } from './change-schema.ts'
import { canSeeAdministration } from './policy.ts'
import { PublisherRef } from './refs.ts'
import { completeVerification, type DomainChallenge, startVerification } from './verify.ts'

/** A domain as typed by the user; `parseDomain` validates it. */
const domain = { extensions: { maxLength: 253 } }

const DomainVerification = builder.objectRef<DomainChallenge>('StartDomainVerificationPayload').implement({
  description: 'The TXT record that proves control of a domain.',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: "The domain, which becomes the publisher's identifier." }),
    host: t.exposeString('host', { description: 'The name of the TXT record.' }),
    value: t.exposeString('value', { description: 'Value of the TXT record.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the claim expires.' }),
  }),
})

builder.mutationField('startDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: DomainVerification,
    description: 'Starts claiming a domain as a publisher: returns the TXT record to add to its DNS within 24 hours.',
    typeOptions: { description: 'The domain to claim.' },
    argOptions: { description: 'The domain.' },
    input: {
      domain: t.input.string({ required: true, description: 'A domain such as `acme.dev`, at most 64 characters.', ...domain }),
      displayName: t.input.string({ required: true, description: 'Display name of the publisher.', validate: publisherName }),
    },
    resolve: (_root, { input }, context) => startVerification(context, input),
  }),
)

builder.mutationField('completeDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('CompleteDomainVerificationPayload', 'The verified publisher.', {
      publisher: { type: PublisherRef, description: 'The publisher. You are its first admin.' },
    }),
    description: 'Checks the TXT record and creates the publisher if the record is found.',
    typeOptions: { description: 'The claim to complete.' },
    argOptions: { description: 'The claim.' },
    input: { domain: t.input.string({ required: true, description: 'The domain.', ...domain }) },
    resolve: async (_root, { input }, context) => ({ publisher: await completeVerification(context, input.domain) }),
  }),
)

const DomainCheckRef = builder.objectRef<DomainCheck>('DomainCheck').implement({
  description: 'Latest check of the TXT record that verifies a publisher. The record is checked every week.',
  fields: (t) => ({
    host: t.string({ description: 'The name of the TXT record.', resolve: ({ publisher }) => recordHost(publisher.id) }),
    value: t.string({
      nullable: true,
      description:
        'Expected value of the TXT record; null for publishers verified by an earlier version of this server, until the next check.',
      resolve: ({ token }) => (token ? recordValue(token) : null),
    }),
    checkedAt: t.expose('checkedAt', { type: 'DateTime', nullable: true, description: 'When the DNS last returned an answer.' }),
    nextCheckAt: t.expose('dueAt', { type: 'DateTime', description: 'When the next check is due.' }),
    lostAt: t.expose('lostAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the publisher lost its verification; null while it is verified.',
    }),
    problem: t.exposeString('problem', { nullable: true, description: 'Why the publisher is no longer verified.' }),
  }),
})

builder.objectField(PublisherRef, 'domainCheck', (t) =>
  t.field({
    type: DomainCheckRef,
    nullable: true,
    description:
      'Latest check of the TXT record that verifies the publisher. Null without a domain, and unless you administer the publisher.',
    resolve: async (publisher, _args, context) =>
      (await viewerCan(context, canSeeAdministration, publisher)) ? loadDomainCheck(context, publisher.id) : null,
  }),
)

builder.mutationField('checkPublisherDomain', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('CheckPublisherDomainPayload', 'The publisher after the check.', {
      publisher: { type: PublisherRef, description: 'The publisher.' },
    }),
    description:
      'Checks the TXT record of a publisher now, for its admins. The publisher is verified if the record is found, and otherwise loses its verification.',
    typeOptions: { description: 'The publisher to check.' },
    argOptions: { description: 'The publisher to check.' },
    input: {
      publisherId: t.input.globalID({ required: true, for: [PublisherRef], description: 'Publisher to check.', ...formerly('id') }),
    },
    resolve: async (_root, { input }, context) => ({ publisher: await checkDomainNow(context, input.publisherId.id) }),
  }),
)
