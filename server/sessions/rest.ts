import { type Data, ok, route } from '../rest/route.ts'
import { restUser, userFields } from '../users/schema.ts'

export const sessionRoutes = [
  route('POST /api/auth/login', `mutation ($input: LoginInput!) { login(input: $input) { user { ${userFields} } } }`, {
    summary: 'Signs in with e-mail and password; sets the session cookies.',
    answer: { from: ({ login }) => restUser((login as Data).user) },
  }),
  route('POST /api/auth/logout', 'mutation { logout }', { summary: 'Ends the session the request rides on.', answer: ok }),
]
