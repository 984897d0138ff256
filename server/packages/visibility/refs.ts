import { builder } from '../../graphql/builder.ts'
import type { Visibility } from '../entity.ts'

export const VisibilityEnum = builder.enumType('Visibility', {
  description: 'Who can read a package.',
  values: {
    PRIVATE: { value: 'private', description: 'Everybody who is signed in.' },
    PUBLIC: { value: 'public', description: 'Anybody, while the server allows reading without signing in.' },
  } satisfies Record<Uppercase<Visibility>, { value: Visibility; description: string }>,
})
