import { z } from 'zod'
import { route } from '../../platform/rest/route.ts'
import { oauthAuthorize } from './binary.ts'
import { oauthClientBinaries, oauthMetadata } from './client-binary.ts'

const device = 'user_code: userCode scope: scopes client_ip: clientIp created_at: createdAt expires_at: expiresAt'
const commaSeparated = { from: (scopes: unknown) => (scopes as string[]).join(',').toLowerCase(), schema: z.string() }
const userCode = { user_code: 'userCode' }

const names = { request_id: 'requestId' }

export const oauthRoutes = [
  oauthAuthorize,
  ...oauthClientBinaries,
  oauthMetadata,
  route(
    'GET /oauth/pending/:requestId',
    `query ($requestId: ID!) {
      pendingAuthorization(requestId: $requestId) {
        request_id: requestId client_id: clientId redirect_uri: redirectUri scope: scopes created_at: createdAt expires_at: expiresAt
      }
    }`,
    {
      summary: 'The authorization request that is waiting for this session.',
      answer: 'pendingAuthorization',
      changes: {
        'pendingAuthorization.scope': commaSeparated,
      },
    },
  ),
  route(
    'POST /oauth/approve',
    'mutation ($input: ApproveAuthorizationInput!) { approveAuthorization(input: $input) { redirect_url: redirectUrl } }',
    { summary: 'Approves the request; send the browser to `redirect_url`.', names, errorStatuses: [404], answer: 'approveAuthorization' },
  ),
  route(
    'POST /oauth/deny',
    'mutation ($input: DenyAuthorizationInput!) { denyAuthorization(input: $input) { redirect_url: redirectUrl } }',
    { summary: 'Denies the client access; send the browser to `redirect_url`.', names, errorStatuses: [404], answer: 'denyAuthorization' },
  ),
  route('GET /oauth/device/:userCode', `query ($userCode: String!) { deviceAuthorization(userCode: $userCode) { ${device} } }`, {
    summary: 'The device that waits with this code.',
    answer: 'deviceAuthorization',
    changes: { 'deviceAuthorization.scope': commaSeparated },
    errorStatuses: [404, 429],
  }),
  route(
    'POST /oauth/device/approve',
    `mutation ($input: ApproveDeviceInput!) { approveDevice(input: $input) { deviceAuthorization { ${device} } } }`,
    {
      summary: 'Allows the device with this code to get an access token for your account.',
      names: userCode,
      answer: 'approveDevice.deviceAuthorization',
      changes: { 'approveDevice.deviceAuthorization.scope': commaSeparated },
      errorStatuses: [404, 429],
    },
  ),
  route(
    'POST /oauth/device/deny',
    `mutation ($input: DenyDeviceInput!) { denyDevice(input: $input) { deviceAuthorization { ${device} } } }`,
    {
      summary: 'Denies the device with this code an access token.',
      names: userCode,
      answer: 'denyDevice.deviceAuthorization',
      changes: { 'denyDevice.deviceAuthorization.scope': commaSeparated },
      errorStatuses: [404, 429],
    },
  ),
]
