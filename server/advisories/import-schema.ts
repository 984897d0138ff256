import { builder } from '../graphql/builder.ts'
import { done, payload } from '../graphql/payload.ts'
import type { SignedInContext } from '../access/context.ts'
import { bodyLimit } from '../http/failures.ts'
import { importAdvisories, type Importer, removeAdvisory, withdrawAdvisory } from './import.ts'
import { byServerAdmin } from './policy.ts'
import { AdvisoryRef } from './refs.ts'
import { readAdvisory } from './service.ts'

const importer = ({ em, viewer, ip, now }: SignedInContext): Importer => ({ em, actor: viewer, ip, now: now() })

builder.mutationField('importAdvisories', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('ImportAdvisoriesPayload', 'What became of the advisories, by their identifiers.', {
      imported: { type: ['String'], description: 'New ones.' },
      updated: { type: ['String'], description: 'Those that replaced an older one.' },
      unchanged: { type: ['String'], description: 'Those that were here already, as they are or newer.' },
    }),
    description:
      'Keeps security advisories of the ecosystem Pub, all or none. One that is here already is replaced by a newer one (`modified`) only. They may be about packages that are not here yet.',
    typeOptions: { description: 'Security advisories to keep.' },
    argOptions: { description: 'The advisories.' },
    input: {
      osv: t.input.string({
        required: true,
        description: 'One advisory in OSV form, or a list of them, as JSON text.',
        extensions: { maxLength: bodyLimit },
      }),
    },
    resolve: (_root, { input }, context) => importAdvisories(importer(context), input.osv),
  }),
)

const osvId = { required: true, description: 'Its identifier, such as GHSA-9v85-q87q-g4vg.' } as const

builder.mutationField('withdrawAdvisory', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('WithdrawAdvisoryPayload', 'The withdrawn advisory.', {
      advisory: { type: AdvisoryRef, description: 'The advisory.' },
    }),
    description:
      'Withdraws a security advisory: it is kept, but packages are no longer marked with it. Importing a newer version of it may restore it.',
    typeOptions: { description: 'Which advisory to withdraw.' },
    argOptions: { description: 'Which one.' },
    input: { osvId: t.input.string(osvId) },
    resolve: async (_root, { input }, context) => ({ advisory: readAdvisory(await withdrawAdvisory(importer(context), input.osvId)) }),
  }),
)

builder.mutationField('removeAdvisory', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: 'Boolean',
    description: 'Removes a security advisory, as if it had never been here.',
    typeOptions: { description: 'Which advisory to remove.' },
    argOptions: { description: 'Which one.' },
    input: { osvId: t.input.string(osvId) },
    resolve: (_root, { input }, context) => done(removeAdvisory(importer(context), input.osvId)),
  }),
)
