import { z } from 'zod'
import { bool, serverUrl } from './forms.ts'

const secret = z.string().min(32, 'must be at least 32 characters long')

/** The variables that make a server the one that it is, on every instance. */
export const identityVariables = {
  SERVER_URL: { schema: serverUrl, required: true, about: 'Public address, exactly as clients write it; may end in a path.' },
  JWT_SECRET: {
    schema: secret,
    required: true,
    secret: true,
    about: 'Key for sessions: at least 32 random characters. A new one signs everyone out, unless JWT_SECRET_PREVIOUS has the old one.',
  },
  JWT_SECRET_PREVIOUS: {
    schema: secret,
    secret: true,
    about:
      'The former JWT_SECRET, after a change: sessions that began under it stay valid. Remove it after 30 days, when all have expired.',
  },
  INSTANCES_MAY_DIFFER: {
    schema: bool,
    default: 'false',
    about:
      'Start although an instance that is running has another JWT_SECRET, SERVER_URL or archive store: only while instances are replaced one by one.',
  },
} as const
