import { builder } from '../../platform/graphql/builder.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { bodyLimit } from '../../platform/http/failures.ts'
import { importAdvisories, type Importer, removeAdvisory, withdrawAdvisory } from './import.ts'
import { byServerAdmin } from './policy.ts'
import { AdvisoryRef } from './refs.ts'
import { readAdvisory } from './service.ts'

const importer = ({ em, viewer, ip, now }: SignedInContext): Importer => ({ em, actor: viewer, ip, now: now() })

builder.mutationField('importAdvisories', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('ImportAdvisoriesPayload', 'Result of the import: identifiers of the advisories by outcome.', {
      imported: { type: ['String'], description: 'New advisories.' },
      updated: { type: ['String'], description: 'Advisories that replaced an older version.' },
      unchanged: { type: ['String'], description: 'Advisories that were already stored in the same or a newer version.' },
    }),
    description:
      'Imports security advisories of the ecosystem Pub, all or none. An existing advisory is replaced only by a newer one (`modified`). The packages need not exist on this server.',
    typeOptions: { description: 'Security advisories to import.' },
    argOptions: { description: 'The advisories.' },
    input: {
      osv: t.input.string({
        required: true,
        description: 'One advisory in OSV format, or a list of them, as JSON text.',
        extensions: { maxLength: bodyLimit },
      }),
    },
    resolve: (_root, { input }, context) => importAdvisories(importer(context), input.osv),
  }),
)

const osvId = { required: true, description: 'OSV identifier, such as GHSA-9v85-q87q-g4vg.' } as const

builder.mutationField('withdrawAdvisory', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('WithdrawAdvisoryPayload', 'The withdrawn advisory.', {
      advisory: { type: AdvisoryRef, description: 'The advisory.' },
    }),
    description:
      'Withdraws a security advisory. It remains stored, but no longer applies to packages. Importing a newer version can restore it.',
    typeOptions: { description: 'The advisory to withdraw.' },
    argOptions: { description: 'The advisory.' },
    input: { osvId: t.input.string(osvId) },
    resolve: async (_root, { input }, context) => ({ advisory: readAdvisory(await withdrawAdvisory(importer(context), input.osvId)) }),
  }),
)

builder.mutationField('removeAdvisory', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: 'Boolean',
    description: 'Deletes a security advisory.',
    typeOptions: { description: 'The advisory to delete.' },
    argOptions: { description: 'The advisory.' },
    input: { osvId: t.input.string(osvId) },
    resolve: (_root, { input }, context) => done(removeAdvisory(importer(context), input.osvId)),
  }),
)
