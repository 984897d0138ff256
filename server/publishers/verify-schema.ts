import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { viewerCan } from '../access/viewer-can.ts'
import { checkDomainNow, loadDomainCheck } from './domain-check.ts'
import type { DomainCheck } from './domain-check-entity.ts'
import { publisherName } from './input.ts'
import { canSeeDomainCheck } from './policy.ts'
import { recordHost, recordValue } from './record.ts'
import { PublisherRef } from './refs.ts'
import { completeVerification, type DomainChallenge, startVerification } from './verify.ts'

/** A domain as typed by the user; `parseDomain` validates it. */
const domain = { extensions: { maxLength: 253 } }

const DomainVerification = builder.objectRef<DomainChallenge>('DomainVerification').implement({
  description: 'The TXT record that proves that somebody holds a domain.',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: "The domain, which becomes the publisher's identifier." }),
    host: t.exposeString('host', { description: 'The name of the TXT record.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the claim expires.' }),
  }),
})

builder.mutationField('startDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: DomainVerification,
    description: 'Starts claiming a domain as a publisher: returns the TXT record to add to its DNS within 24 hours.',
    typeOptions: { description: 'Which domain to claim.' },
    argOptions: { description: 'The domain.' },
    input: {
      domain: t.input.string({ required: true, description: 'Such as `acme.dev`, at most 64 characters.', ...domain }),
      displayName: t.input.string({ required: true, description: "The publisher's name for people to read.", validate: publisherName }),
    },
    resolve: (_root, { input }, context) => startVerification(context, input),
  }),
)

builder.mutationField('completeDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('CompleteDomainVerificationPayload', 'A publisher that proved to hold its domain.', {
      publisher: { type: PublisherRef, description: 'The publisher; you are its admin.' },
    }),
    description: 'Looks for the TXT record, and makes the publisher when it is there.',
    typeOptions: { description: 'Which claim to complete.' },
    argOptions: { description: 'The claim.' },
    input: { domain: t.input.string({ required: true, description: 'The domain.', ...domain }) },
    resolve: async (_root, { input }, context) => ({ publisher: await completeVerification(context, input.domain) }),
  }),
)

const DomainCheckRef = builder.objectRef<DomainCheck>('DomainCheck').implement({
  description: 'Latest check of the TXT record that verifies a publisher. It is looked up every week.',
  fields: (t) => ({
    host: t.string({ description: 'The name of the TXT record.', resolve: ({ publisher }) => recordHost(publisher.id) }),
    value: t.string({
      nullable: true,
      description: 'What it has to show; null for a publisher that was verified before this was kept, until it is looked up again.',
      resolve: ({ token }) => (token ? recordValue(token) : null),
    }),
    checkedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the DNS last gave an answer.',
      resolve: ({ checkedAt }) => checkedAt ?? null,
    }),
    nextCheckAt: t.expose('dueAt', { type: 'DateTime', description: 'When it is looked up again.' }),
    lostAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when the publisher is no longer verified.',
      resolve: ({ lostAt }) => lostAt ?? null,
    }),
    problem: t.exposeString('problem', { nullable: true, description: 'Why it is no longer verified.' }),
  }),
})

builder.objectField(PublisherRef, 'domainCheck', (t) =>
  t.field({
    type: DomainCheckRef,
    nullable: true,
    description: 'Latest check of the TXT record that verifies it; null for a publisher without a domain, and unless you administer it.',
    resolve: async (publisher, _args, context) =>
      (await viewerCan(context, canSeeDomainCheck, publisher)) ? loadDomainCheck(context, publisher.id) : null,
  }),
)

builder.mutationField('checkPublisherDomain', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('CheckPublisherDomainPayload', 'A publisher whose record was looked up.', {
      publisher: { type: PublisherRef, description: 'The publisher.' },
    }),
    description:
      'Looks up the TXT record of a publisher now, for its admins. The publisher is verified when the record is found, and otherwise not.',
    typeOptions: { description: 'Whose record to look up.' },
    argOptions: { description: 'Which publisher.' },
    input: { id: t.input.globalID({ required: true, for: [PublisherRef], description: 'Which publisher.' }) },
    resolve: async (_root, { input }, context) => ({ publisher: await checkDomainNow(context, input.id.id) }),
  }),
)
