import { route } from '../../platform/rest/route.ts'
import { invalidInvite } from './service.ts'
import { userFields } from '../users/refs.ts'

export const inviteRoutes = [
  route('GET /api/invites/:token', 'query ($token: String!) { invite(token: $token) { email displayName expiresAt } }', {
    anyCredential: true,
    summary: 'The recipient of an invitation.',
    answer: 'invite',
    required: { invite: invalidInvite },
  }),
  route(
    'POST /api/invites/:token/accept',
    `mutation ($input: AcceptInviteInput!) { acceptInvite(input: $input) { user { ${userFields} } } }`,
    { anyCredential: true, summary: 'Accepts an invitation by choosing a password.', answer: 'acceptInvite.user' },
  ),
]
