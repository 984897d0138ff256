import type { InputFieldBuilder } from '@pothos/core'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { z } from 'zod'
import { label } from '../../accounts/users/input.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { packageName } from '../packages/parameters.ts'
import { PublisherRef } from '../publishers/refs.ts'
import { TokenIssuerRef } from './issuer-schema.ts'
import { TrustedPublisherRef } from './schema.ts'
import { addRule, maxClaims, removeRule, updateRule } from './service.ts'

const line = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters long`)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not contain control characters')
    .nullish()

const ClaimPatternInput = builder.inputType('ClaimPatternInput', {
  description: 'A claim that a token must have.',
  fields: (t) => ({
    claim: t.string({ required: true, description: 'Name of the claim.', validate: z.string().min(1, 'must not be empty').max(100) }),
    pattern: t.string({
      required: true,
      description: 'Value of the claim; `*` stands for any characters.',
      validate: z.string().min(1).max(255),
    }),
  }),
})

/** Returns the input fields of a rule. Members that are null or left out allow any value. */
const ruleFields = (t: InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>) => ({
  tokenIssuerId: t.globalID({ required: true, for: [TokenIssuerRef], description: 'The CI system.' }),
  label: t.string({ description: 'Note for people.', validate: label(100).or(z.literal('')).nullish() }),
  repository: t.string({
    description: 'Repository, such as `acme/acme_ui`; `*` stands for any characters. Required unless there are claims.',
    validate: line(255),
  }),
  workflow: t.string({
    description:
      'Workflow file, such as `publish.yml`, or `acme/flows/.github/workflows/publish.yml` for a reusable one of another repository.',
    validate: line(255),
  }),
  environment: t.string({ description: 'Deployment environment.', validate: line(255) }),
  events: t.stringList({
    description: 'Kinds of events that may start the job, such as `push`.',
    validate: z
      .array(z.string().regex(/^[\w-]{1,50}$/, 'must be names of events, such as push'))
      .max(9, 'must have at most 9 entries')
      .nullish(),
  }),
  claims: t.field({
    type: [ClaimPatternInput],
    description: 'Further claims.',
    validate: z.array(z.unknown()).max(maxClaims, `must have at most ${maxClaims} entries`).nullish(),
  }),
  tagPattern: t.string({
    description: 'Tag that contains the version, such as `v{{version}}`, or `{{name}}-v{{version}}` for several packages in a repository.',
    validate: line(100),
  }),
  isReadOnly: t.boolean({ description: 'Whether jobs can only read packages. By default, they can publish.' }),
})

const rulePayload = payload('TrustedPublisherPayload', 'A trusted publisher after a change.', {
  trustedPublisher: { type: TrustedPublisherRef, description: 'The trusted publisher.' },
})

builder.mutationField('addTrustedPublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: rulePayload,
    description: 'Allows jobs of a CI system to publish a package, for its administrators, or all packages of a publisher, for its admins.',
    typeOptions: { description: 'The package or the publisher, and the rule.' },
    argOptions: { description: 'The package or the publisher, and the rule.' },
    input: {
      package: t.input.string({
        description: 'Name of the package. Either a package or a publisher is required.',
        validate: packageName.nullish(),
      }),
      publisherId: t.input.globalID({ for: [PublisherRef], description: 'The publisher, also for new packages.' }),
      ...ruleFields(t.input),
    },
    resolve: async (_root, { input }, context) => ({ trustedPublisher: await addRule(context, input) }),
  }),
)

builder.mutationField('updateTrustedPublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: rulePayload,
    description:
      'Replaces what a trusted publisher requires of a job. Another issuer or repository also removes the lock on the repository id.',
    typeOptions: { description: 'The trusted publisher and its new rule.' },
    argOptions: { description: 'The trusted publisher and its new rule.' },
    input: {
      trustedPublisherId: t.input.globalID({ required: true, for: [TrustedPublisherRef], description: 'Trusted publisher.' }),
      ...ruleFields(t.input),
    },
    resolve: async (_root, { input }, context) => ({
      trustedPublisher: await updateRule(context, input.trustedPublisherId.id, input),
    }),
  }),
)

builder.mutationField('removeTrustedPublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RemoveTrustedPublisherPayload', 'A trusted publisher that was removed.', {
      deletedTrustedPublisherId: { type: 'ID', description: 'Global id of the trusted publisher.' },
    }),
    description: 'Removes a trusted publisher. Its jobs can no longer publish.',
    typeOptions: { description: 'The trusted publisher to remove.' },
    argOptions: { description: 'The trusted publisher to remove.' },
    input: { trustedPublisherId: t.input.globalID({ required: true, for: [TrustedPublisherRef], description: 'Trusted publisher.' }) },
    resolve: (_root, { input: { trustedPublisherId } }, context) =>
      done(removeRule(context, trustedPublisherId.id), {
        deletedTrustedPublisherId: encodeGlobalID('TrustedPublisher', trustedPublisherId.id),
      }),
  }),
)
