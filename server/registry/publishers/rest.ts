import type { Context } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { ok, route } from '../../platform/rest/route.ts'
import { unknownPublisher } from './service.ts'

const details = 'id: slug displayName description websiteUrl contactEmail isVerified createdAt'
const member = 'user @flatten { userId: uuid email displayName } role'
/** All fields of a publisher. Members are omitted for callers who may not see them. */
const whole = `${details} members @omitNull { ${member} }`
const check = 'domainCheck { host value checkedAt nextCheckAt lostAt problem }'
const byId = { ids: { id: 'Publisher', userId: 'User' }, names: { id: 'publisherId' } }
const slugIn = ({ request }: Context) => (request.params as { id: string }).id
const ofPublisher = { required: { publisher: (context: Context) => unknownPublisher(slugIn(context)) } }

export const publisherRoutes = [
  route(
    'GET /api/publishers',
    `query ($query: String, $offset: Int) { publishers(first: 50, query: $query, offset: $offset) { nodes { ${details} } totalCount } }`,
    { summary: 'All publishers by id, 50 per page.', answer: { page: 'publishers', of: 'publishers' } },
  ),
  route('POST /api/publishers', `mutation ($input: CreatePublisherInput!) { createPublisher(input: $input) { publisher { ${whole} } } }`, {
    summary: 'Creates a publisher. You become its first admin.',
    status: 201,
    names: { id: 'slug' },
    answer: 'createPublisher.publisher',
  }),
  route('GET /api/publishers/:id', `query ($id: String!) { publisher(slug: $id) { ${whole} } }`, {
    summary: 'A publisher. Includes its members if you are one of them or an administrator.',
    answer: 'publisher',
    ...ofPublisher,
  }),
  route(
    'PUT /api/publishers/:id',
    `mutation ($input: UpdatePublisherInput!) { updatePublisher(input: $input) { publisher { ${whole} } } }`,
    {
      summary: 'Changes the details of a publisher.',
      ...byId,
      answer: 'updatePublisher.publisher',
    },
  ),
  route(
    'DELETE /api/publishers/:id',
    'mutation ($input: DeletePublisherInput!) { deletePublisher(input: $input) { deletedPublisherId } }',
    {
      summary: 'Deletes a publisher that owns no packages.',
      ...byId,
      answer: ok,
    },
  ),
  route('GET /api/publishers/:id/members', `query ($id: String!) { publisher(slug: $id) { members { ${member} } } }`, {
    summary: 'Members of a publisher. Requires a member or an administrator.',
    answer: 'publisher',
    required: {
      ...ofPublisher.required,
      'publisher.members': (context) => insufficientPermissions(`Only members of ${slugIn(context)} can see its members.`),
    },
  }),
  route(
    'PUT /api/publishers/:id/members/:userId',
    `mutation ($input: SetPublisherMemberInput!) { setPublisherMember(input: $input) { member { ${member} } } }`,
    {
      summary: 'Adds a member to a publisher, or changes their role.',
      ...byId,
      answer: 'setPublisherMember.member',
    },
  ),
  route(
    'DELETE /api/publishers/:id/members/:userId',
    'mutation ($input: RemovePublisherMemberInput!) { removePublisherMember(input: $input) { publisher { slug } } }',
    { summary: 'Removes a member from a publisher. Members can remove themselves.', ...byId, answer: ok },
  ),
  route(
    'POST /api/publishers/verify/start',
    'mutation ($input: StartDomainVerificationInput!) { startDomainVerification(input: $input) { domain host value expiresAt } }',
    {
      summary: 'Starts claiming a domain: returns the TXT record to add to its DNS.',
      answer: 'startDomainVerification',
      errorStatuses: [429],
    },
  ),
  route(
    'POST /api/publishers/verify/complete',
    `mutation ($input: CompleteDomainVerificationInput!) { completeDomainVerification(input: $input) { publisher { ${whole} } } }`,
    {
      summary: 'Checks the TXT record and creates the publisher if the record is found.',
      status: 201,
      answer: 'completeDomainVerification.publisher',
      errorStatuses: [429],
    },
  ),
  route('GET /api/publishers/:id/domain-check', `query ($id: String!) { publisher(slug: $id) { ${check} } }`, {
    summary: 'Latest check of the TXT record that verifies a publisher, for its admins; null for one without a domain.',
    answer: 'publisher',
    ...ofPublisher,
  }),
  route(
    'POST /api/publishers/:id/domain-check',
    `mutation ($input: CheckPublisherDomainInput!) { checkPublisherDomain(input: $input) { publisher { isVerified ${check} } } }`,
    {
      summary: 'Looks up the TXT record of a publisher now: it is verified when the record is found, and otherwise not.',
      ...byId,
      answer: 'checkPublisherDomain.publisher',
      errorStatuses: [429],
    },
  ),
]
