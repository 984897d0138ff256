import { builder } from '../../platform/graphql/builder.ts'
import type { Severity } from './severity.ts'

export const AdvisorySeverity = builder.enumType('AdvisorySeverity', {
  description: 'Severity of a security advisory.',
  values: {
    LOW: { value: 'low', description: 'Low severity.' },
    MODERATE: { value: 'moderate', description: 'Moderate severity.' },
    HIGH: { value: 'high', description: 'High severity: update soon.' },
    CRITICAL: { value: 'critical', description: 'Critical severity: update immediately.' },
  } satisfies Record<Uppercase<Severity>, { value: Severity; description: string }>,
})
