import { z } from 'zod'
import { bool, serverUrl } from './forms.ts'

const secret = z.string().min(32, 'must be at least 32 characters long')

/** Settings that identify a server. They must be the same on all instances. */
export const identityVariables = {
  SERVER_URL: { schema: serverUrl, required: true, about: 'Public URL of the server, exactly as clients use it. May include a path.' },
  JWT_SECRET: {
    schema: secret,
    required: true,
    secret: true,
    about:
      'Secret for session keys: at least 32 random characters. Changing it signs everyone out unless JWT_SECRET_PREVIOUS is set to the old value.',
  },
  JWT_SECRET_PREVIOUS: {
    schema: secret,
    secret: true,
    about: 'Previous JWT_SECRET after a rotation: its sessions stay valid. Remove it after 30 days, when they have all expired.',
  },
  INSTANCES_MAY_DIFFER: {
    schema: bool,
    default: 'false',
    about:
      'Start even if a running instance has a different JWT_SECRET, SERVER_URL or archive store. Use only during a rolling replacement of instances.',
  },
} as const
