import { z } from 'zod'
import { builder } from '../builder.ts'
import type { Publisher } from './entity.ts'
import { publisherName } from './input.ts'
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
