import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000003_audit_young extends Migration {
  override up() {
    // Otherwise, an entry outside of the chain could be given a position within a range that may be deleted.
    this.addSql(`create trigger \`audit_entries_keep_young\` before delete on \`audit_entries\`
      when old.\`created_at\` > (unixepoch() - 90 * 86400) * 1000
      begin select raise(abort, 'audit entries are never changed'); end;`)
    this.addSql(`create trigger \`audit_chain_keep_order\` before insert on \`audit_chain\`
      when new.\`position\` <= (select coalesce(max(\`position\`), 0) from \`audit_cuts\`)
      begin select raise(abort, 'audit entries are never changed'); end;`)
  }
}
