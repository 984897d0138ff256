import { builder } from '../graphql/builder.ts'
import type { SignedInContext } from '../access/context.ts'
import { type ImportResult, importAdvisories, type Importer, removeAdvisory, withdrawAdvisory } from './import.ts'
import { AdvisoryRef } from './refs.ts'
import { type KnownAdvisory, readAdvisory } from './service.ts'

const importer = ({ em, viewer, ip, now }: SignedInContext): Importer => ({ em, actor: viewer, ip, now: now() })

const ImportAdvisoriesInput = builder.inputType('ImportAdvisoriesInput', {
  description: 'Security advisories to keep.',
  fields: (t) => ({
    osv: t.string({ required: true, description: 'One advisory in OSV form, or a list of them, as JSON text.' }),
  }),
})

const ImportAdvisoriesPayload = builder.objectRef<ImportResult>('ImportAdvisoriesPayload').implement({
  description: 'What became of the advisories, by their identifiers.',
  fields: (t) => ({
    imported: t.exposeStringList('imported', { description: 'New ones.' }),
    updated: t.exposeStringList('updated', { description: 'Those that replaced an older one.' }),
    unchanged: t.exposeStringList('unchanged', { description: 'Those that were here already, as they are or newer.' }),
  }),
})

builder.mutationField('importAdvisories', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ImportAdvisoriesPayload,
    description:
      'Keeps security advisories of the ecosystem Pub, all or none. One that is here already is replaced by a newer one (`modified`) only. They may be about packages that are not here yet.',
    args: { input: t.arg({ type: ImportAdvisoriesInput, required: true, description: 'The advisories.' }) },
    resolve: (_root, { input }, context) => importAdvisories(importer(context), input.osv),
  }),
)

const AdvisoryInput = (name: string, description: string) =>
  builder.inputType(name, {
    description,
    fields: (t) => ({ osvId: t.string({ required: true, description: 'Its identifier, such as GHSA-9v85-q87q-g4vg.' }) }),
  })

const WithdrawAdvisoryPayload = builder.objectRef<{ advisory: KnownAdvisory }>('WithdrawAdvisoryPayload').implement({
  description: 'An advisory that nobody is warned of any more.',
  fields: (t) => ({ advisory: t.expose('advisory', { type: AdvisoryRef, description: 'The advisory.' }) }),
})

const WithdrawAdvisoryInput = AdvisoryInput('WithdrawAdvisoryInput', 'Which advisory to withdraw.')
builder.mutationField('withdrawAdvisory', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: WithdrawAdvisoryPayload,
    description: 'Withdraws a security advisory: it stays for the record, and nobody is warned of it. A newer import may bring it back.',
    args: { input: t.arg({ type: WithdrawAdvisoryInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => ({ advisory: readAdvisory(await withdrawAdvisory(importer(context), input.osvId)) }),
  }),
)

const RemoveAdvisoryInput = AdvisoryInput('RemoveAdvisoryInput', 'Which advisory to remove.')
builder.mutationField('removeAdvisory', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Removes a security advisory, as if it had never been here.',
    args: { input: t.arg({ type: RemoveAdvisoryInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => {
      await removeAdvisory(importer(context), input.osvId)
      return true
    },
  }),
)
