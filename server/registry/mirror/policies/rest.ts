import { ok, route } from '../../../platform/rest/route.ts'
import { mirrorIsOff } from './service.ts'

const list = '{ name publisher versions }'
const exemption = 'id: uuid rule packageName version reason until createdAt createdBy { userId: uuid displayName }'
const policies = `revision minimumAge { mode days hide exempt exemptFixes } packages { mode allow ${list} deny ${list} }
  advisories { mode severity unknownAs } licenses { mode allow deny } exemptions { ${exemption} }`

export const mirrorPolicyRoutes = [
  route('GET /api/admin/mirror/policies', `{ mirrorPolicies { ${policies} } }`, {
    summary: 'Returns the policies for packages of the mirrored server.',
    answer: 'mirrorPolicies',
    required: { mirrorPolicies: mirrorIsOff },
    errorStatuses: [404],
  }),
  route(
    'PUT /api/admin/mirror/policies',
    `mutation ($input: UpdateMirrorPoliciesInput!) { updateMirrorPolicies(input: $input) { policies { ${policies} } } }`,
    {
      summary: 'Replaces the given policies. Fails with 409 if `revision` is given and not the current one.',
      answer: 'updateMirrorPolicies.policies',
      errorStatuses: [404, 409],
    },
  ),
  route(
    'POST /api/admin/mirror/exemptions',
    `mutation ($input: AddMirrorExemptionInput!) { addMirrorExemption(input: $input) { exemption { ${exemption} } } }`,
    {
      summary: 'Exempts an upstream package, or one version of it, from a policy.',
      status: 201,
      answer: 'addMirrorExemption.exemption',
      errorStatuses: [404, 409],
    },
  ),
  route(
    'DELETE /api/admin/mirror/exemptions/:id',
    'mutation ($id: ID!) { removeMirrorExemption(input: { exemptionId: $id }) { removedExemptionId } }',
    {
      ids: { id: 'MirrorExemption' },
      summary: 'Removes an exemption from a policy.',
      answer: ok,
      errorStatuses: [404],
    },
  ),
  route(
    'GET /api/admin/mirror/decisions',
    `query ($rule: String, $outcome: MirrorOutcome, $q: String, $offset: Int) {
      mirrorDecisions(first: 50, rule: $rule, outcome: $outcome, query: $q, offset: $offset) {
        nodes { id: uuid outcome rule packageName version reason user { userId: uuid email displayName } count firstAt lastAt } totalCount
      }
    }`,
    {
      summary:
        'Decisions of the policies of the mirror and faults of the upstream server, most recently repeated first, 50 per page. `q` is part of the package name.',
      names: { q: 'query' },
      answer: { page: 'mirrorDecisions', of: 'decisions' },
      errorStatuses: [404],
    },
  ),
]
