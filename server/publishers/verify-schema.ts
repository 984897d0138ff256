import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { isSignedIn } from '../access/context.ts'
import { checkDomainNow, loadDomainCheck } from './domain-check.ts'
import type { DomainCheck } from './domain-check-entity.ts'
import type { Publisher } from './entity.ts'
import { publisherName } from './input.ts'
import { canAdministerPublisher } from './policy.ts'
import { recordHost, recordValue } from './record.ts'
import { PublisherRef } from './refs.ts'
import { completeVerification, type DomainChallenge, startVerification } from './verify.ts'

/** As typed; what makes a domain of it decides. */
const domain = z.string().max(253, 'must be at most 253 characters long')

const DomainVerification = builder.objectRef<DomainChallenge>('DomainVerification').implement({
  description: 'The TXT record that proves that somebody holds a domain.',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: "The domain, which becomes the publisher's identifier." }),
    host: t.exposeString('host', { description: 'The name of the TXT record.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'Until when it counts.', resolve: ({ expiresAt }) => expiresAt }),
  }),
})

const StartDomainVerificationInput = builder.inputType('StartDomainVerificationInput', {
  description: 'Which domain to claim.',
  fields: (t) => ({
    domain: t.string({ required: true, description: 'Such as `acme.dev`, at most 64 characters.', validate: domain }),
    displayName: t.string({ required: true, description: "The publisher's name for people to read.", validate: publisherName }),
  }),
})

builder.mutationField('startDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: DomainVerification,
    description: 'Begins to claim a domain as a publisher: gives the TXT record to add to its DNS within 24 hours.',
    args: { input: t.arg({ type: StartDomainVerificationInput, required: true, description: 'The domain.' }) },
    resolve: (_root, { input }, context) => startVerification(context, input),
  }),
)

const CompleteDomainVerificationInput = builder.inputType('CompleteDomainVerificationInput', {
  description: 'Which claim to complete.',
  fields: (t) => ({ domain: t.string({ required: true, description: 'The domain.', validate: domain }) }),
})

const CompleteDomainVerificationPayload = builder.objectRef<{ publisher: Publisher }>('CompleteDomainVerificationPayload').implement({
  description: 'A publisher that proved to hold its domain.',
  fields: (t) => ({ publisher: t.expose('publisher', { type: PublisherRef, description: 'The publisher; you are its admin.' }) }),
})

builder.mutationField('completeDomainVerification', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: CompleteDomainVerificationPayload,
    description: 'Looks for the TXT record, and makes the publisher when it is there.',
    args: { input: t.arg({ type: CompleteDomainVerificationInput, required: true, description: 'The claim.' }) },
    resolve: async (_root, { input }, context) => ({ publisher: await completeVerification(context, input.domain) }),
  }),
)

const DomainCheckRef = builder.objectRef<DomainCheck>('DomainCheck').implement({
  description: 'What is known of the TXT record that verifies a publisher. It is looked up again every week.',
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
    nextCheckAt: t.field({ type: 'DateTime', description: 'When it is looked up again.', resolve: ({ dueAt }) => dueAt }),
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
    description: 'What is known of the TXT record that verifies it; null for one without a domain, and for whoever does not administer it.',
    resolve: async (publisher, _args, context) => {
      const may = isSignedIn(context) && (await canAdministerPublisher(context.em, context, publisher))
      return may ? loadDomainCheck(context, publisher.id) : null
    },
  }),
)

const CheckPublisherDomainInput = builder.inputType('CheckPublisherDomainInput', {
  description: 'Whose record to look up.',
  fields: (t) => ({ id: t.globalID({ required: true, description: 'Which publisher.' }) }),
})

const CheckPublisherDomainPayload = builder.objectRef<{ publisher: Publisher }>('CheckPublisherDomainPayload').implement({
  description: 'A publisher whose record was looked up.',
  fields: (t) => ({ publisher: t.expose('publisher', { type: PublisherRef, description: 'The publisher.' }) }),
})

builder.mutationField('checkPublisherDomain', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: CheckPublisherDomainPayload,
    description: 'Looks for the TXT record of a publisher at once, for its admins: whether it is verified follows from what is found.',
    args: { input: t.arg({ type: CheckPublisherDomainInput, required: true, description: 'Which publisher.' }) },
    resolve: async (_root, { input }, context) => ({ publisher: await checkDomainNow(context, input.id.id) }),
  }),
)
