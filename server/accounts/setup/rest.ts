import { z } from 'zod'
import { type Data, route } from '../../platform/rest/route.ts'
import { userFields } from '../users/refs.ts'

export const setupRoutes = [
  route('GET /api/setup/status', '{ setup { needsSetup signupEnabled publicBrowsing } }', {
    anyCredential: true,
    summary: 'State of the first-run setup.',
    answer: 'setup',
    beforeSetup: true,
  }),
  route('POST /api/setup/verify', 'mutation ($input: VerifySetupCodeInput!) { verifySetupCode(input: $input) { setupToken } }', {
    anyCredential: true,
    summary: "Verifies the code from the server's log. Completing the setup requires the setupToken of the response, or its cookie.",
    answer: {
      from: ({ verifySetupCode }) => ({ status: 'ok', ...(verifySetupCode as Data) }),
      schema: z.object({ status: z.literal('ok'), setupToken: z.string() }),
    },
    beforeSetup: true,
    errorStatuses: [404],
  }),
  route('POST /api/setup/complete', `mutation ($input: CompleteSetupInput!) { completeSetup(input: $input) { user { ${userFields} } } }`, {
    anyCredential: true,
    summary: 'Creates the owner.',
    status: 201,
    answer: 'completeSetup.user',
    beforeSetup: true,
    errorStatuses: [404],
  }),
]
