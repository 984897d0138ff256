import { builder } from '../graphql/builder.ts'
import type { KnownAdvisory } from './service.ts'

export const AdvisoryRef = builder.objectRef<KnownAdvisory>('Advisory')
