import { route } from '../rest/route.ts'
import { restUser, userFields } from './schema.ts'

export const userRoutes = [
  route('GET /api/auth/me', `{ me { ${userFields} } }`, { summary: 'The current user.', answer: { from: ({ me }) => restUser(me) } }),
]
