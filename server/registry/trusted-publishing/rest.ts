import type { Context } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { ok, route } from '../../platform/rest/route.ts'
import { notAdministered } from '../packages/change-package.ts'
import { ofPackage, packageParameter } from '../packages/parameters.ts'
import { unknownPublisher } from '../publishers/service.ts'

const issuer = 'id: uuid name issuerUrl preset createdAt keysFetchedAt keyProblem'
const rule = `
  id: uuid issuer { id: uuid name issuerUrl } label repository workflow environment events claims { claim pattern } tagPattern isReadOnly
  lockedRepositoryId lockedOwnerId createdAt createdBy { userId: uuid displayName } lastUsedAt lastUse lastRejectedAt lastRejection
`
const slugIn = ({ request }: Context) => (request.params as { id: string }).id
const issuerIds = { ids: { id: 'TokenIssuer' }, names: { id: 'tokenIssuerId' } }
const ofIssuer = { tokenIssuerId: 'TokenIssuer' }
const ruleNames = { names: { id: 'trustedPublisherId' } }

/** Endpoints for issuers of tokens and for the rules about them. */
export const trustedPublishingRoutes = [
  route('GET /api/token-issuers', `{ tokenIssuers { ${issuer} } }`, {
    summary: 'The CI systems whose jobs can authenticate.',
  }),
  route(
    'POST /api/token-issuers',
    `mutation ($input: CreateTokenIssuerInput!) { createTokenIssuer(input: $input) { tokenIssuer { ${issuer} } } }`,
    {
      summary: 'Adds a CI system and fetches its public keys.',
      status: 201,
      answer: 'createTokenIssuer.tokenIssuer',
    },
  ),
  route(
    'PUT /api/token-issuers/:id',
    `mutation ($input: UpdateTokenIssuerInput!) { updateTokenIssuer(input: $input) { tokenIssuer { ${issuer} } } }`,
    { summary: 'Renames a CI system.', ...issuerIds, answer: 'updateTokenIssuer.tokenIssuer' },
  ),
  route(
    'POST /api/token-issuers/:id/refresh',
    `mutation ($input: RefreshTokenIssuerInput!) { refreshTokenIssuer(input: $input) { tokenIssuer { ${issuer} } } }`,
    { summary: 'Fetches the public keys of a CI system now.', ...issuerIds, answer: 'refreshTokenIssuer.tokenIssuer' },
  ),
  route(
    'DELETE /api/token-issuers/:id',
    'mutation ($input: DeleteTokenIssuerInput!) { deleteTokenIssuer(input: $input) { deletedTokenIssuerId } }',
    { summary: 'Removes a CI system with all trusted publishers that name it.', ...issuerIds, answer: ok },
  ),
  route(
    'GET /api/packages/:pkg/trusted-publishers',
    `query ($pkg: String!) { package(name: $pkg) { allowsManualPublishing trustedPublishers { ${rule} } } }`,
    {
      summary: 'Trusted publishers of a package, for its administrators.',
      answer: 'package',
      required: {
        ...ofPackage.required,
        'package.trustedPublishers': ({ request }) => insufficientPermissions(notAdministered(packageParameter(request))),
      },
    },
  ),
  route(
    'POST /api/packages/:pkg/trusted-publishers',
    `mutation ($input: AddTrustedPublisherInput!) { addTrustedPublisher(input: $input) { trustedPublisher { ${rule} } } }`,
    {
      summary: 'Adds a trusted publisher to a package.',
      status: 201,
      ids: ofIssuer,
      names: { pkg: 'package' },
      answer: 'addTrustedPublisher.trustedPublisher',
    },
  ),
  route(
    'GET /api/publishers/:id/trusted-publishers',
    `query ($id: String!) { publisher(slug: $id) { allowsManualPublishing trustedPublishers { ${rule} } } }`,
    {
      summary: 'Trusted publishers of all packages of a publisher, for its admins.',
      answer: 'publisher',
      required: {
        publisher: (context) => unknownPublisher(slugIn(context)),
        'publisher.trustedPublishers': (context) => insufficientPermissions(`You do not administer the publisher ${slugIn(context)}.`),
      },
    },
  ),
  route(
    'POST /api/publishers/:id/trusted-publishers',
    `mutation ($input: AddTrustedPublisherInput!) { addTrustedPublisher(input: $input) { trustedPublisher { ${rule} } } }`,
    {
      summary: 'Adds a trusted publisher to all packages of a publisher.',
      status: 201,
      ids: { id: 'Publisher', ...ofIssuer },
      names: { id: 'publisherId' },
      answer: 'addTrustedPublisher.trustedPublisher',
    },
  ),
  route(
    'PUT /api/trusted-publishers/:id',
    `mutation ($input: UpdateTrustedPublisherInput!) { updateTrustedPublisher(input: $input) { trustedPublisher { ${rule} } } }`,
    {
      summary: 'Replaces what a trusted publisher requires of a job.',
      ids: { id: 'TrustedPublisher', ...ofIssuer },
      ...ruleNames,
      answer: 'updateTrustedPublisher.trustedPublisher',
    },
  ),
  route(
    'DELETE /api/trusted-publishers/:id',
    'mutation ($input: RemoveTrustedPublisherInput!) { removeTrustedPublisher(input: $input) { deletedTrustedPublisherId } }',
    { summary: 'Removes a trusted publisher.', ids: { id: 'TrustedPublisher' }, ...ruleNames, answer: ok },
  ),
]
