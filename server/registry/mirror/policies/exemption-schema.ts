import { encodeGlobalID } from '@pothos/plugin-relay'
import { z } from 'zod'
import { UserRef } from '../../../accounts/users/refs.ts'
import { label } from '../../../accounts/users/input.ts'
import { loadUser } from '../../../accounts/users/service.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { done, payload } from '../../../platform/graphql/payload.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import { PoliciesRef } from './schema.ts'
import { addExemption, readPolicies, removeExemption } from './service.ts'
import { type Exemption, isInEffect, policyRules } from './settings.ts'

const ruleText = 'The policy: `packages`, `advisories`, `licenses` or `minimumAge`.'
const versionText = 'The only version that is exempt; null for all versions.'
const untilText = 'When the exemption ends; null if it does not end by itself.'

const ExemptionRef = builder.objectRef<Exemption>('MirrorExemption')

builder.node(ExemptionRef, {
  description: 'An exemption of an upstream package, or of one version of it, from a policy of the mirror.',
  authScopes: { scope: 'admin' },
  id: { resolve: ({ id }) => id },
  loadOne: async (id, context) => (await readPolicies(context))?.exemptions.find((one) => one.id === id) ?? null,
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    rule: t.exposeString('rule', { description: ruleText }),
    packageName: t.exposeString('name', { description: 'Name of the upstream package.' }),
    version: t.exposeString('version', { nullable: true, description: versionText }),
    reason: t.exposeString('reason', { description: 'Why it is exempt.' }),
    until: t.field({
      type: 'DateTime',
      nullable: true,
      description: untilText,
      resolve: ({ until }) => (until === null ? null : new Date(until)),
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was added.', resolve: ({ createdAt }) => new Date(createdAt) }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who added it; null if that account was deleted.',
      resolve: ({ userId }, _args, context) => loadUser(context, userId),
    }),
  }),
})

builder.objectField(PoliciesRef, 'exemptions', (t) =>
  t.field({
    type: [ExemptionRef],
    extensions: { size: 20 },
    description: 'Exemptions that have not expired, newest first, at most 200.',
    resolve: ({ exemptions }, _args, { now }) => exemptions.filter((one) => isInEffect(one, now())),
  }),
)

builder.mutationFields((t) => ({
  addMirrorExemption: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('AddMirrorExemptionPayload', 'The exemption.', {
      exemption: { type: ExemptionRef, description: 'The exemption.' },
    }),
    description:
      'Exempts a package of the mirrored server, or one version of it, from a policy, in place of an earlier exemption of the same. It applies from the next request on. For administrators.',
    typeOptions: { description: 'What to exempt.' },
    argOptions: { description: 'What to exempt.' },
    input: {
      packageName: t.input.string({
        required: true,
        description: 'Name of the upstream package.',
        validate: z.string().refine(isUpstreamName, 'must be a package name'),
      }),
      version: t.input.field({ type: 'SemVer', description: versionText }),
      rule: t.input.string({
        required: true,
        description: ruleText,
        validate: z.enum(policyRules, `must be one of ${policyRules.join(', ')}`),
      }),
      reason: t.input.string({ required: true, description: 'Why it is exempt, for other administrators.', validate: label(200) }),
      until: t.input.field({ type: 'DateTime', description: untilText }),
    },
    resolve: async (_root, { input: { packageName, rule, ...input } }, context) => ({
      exemption: await addExemption(context, { ...input, name: packageName, rule: z.enum(policyRules).parse(rule) }),
    }),
  }),
  removeMirrorExemption: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RemoveMirrorExemptionPayload', 'The removed exemption.', {
      removedExemptionId: { type: 'ID', description: 'Global id of the exemption.' },
    }),
    description: 'Removes an exemption from a policy of the mirror. For administrators.',
    typeOptions: { description: 'The exemption to remove.' },
    argOptions: { description: 'The exemption.' },
    input: { exemptionId: t.input.globalID({ required: true, for: [ExemptionRef], description: 'Global id of the exemption.' }) },
    resolve: (_root, { input: { exemptionId: one } }, context) =>
      done(removeExemption(context, one.id), { removedExemptionId: encodeGlobalID(one.typename, one.id) }),
  }),
}))
