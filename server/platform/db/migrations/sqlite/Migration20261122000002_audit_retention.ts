import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000002_audit_retention extends Migration {
  override up() {
    this.addSql('create table `audit_cuts` (`entry_id` text not null primary key, `position` bigint not null, `hash` text not null, `kept_from` datetime not null);')
    this.addSql('create unique index `audit_cuts_position_unique` on `audit_cuts` (`position`);')
    this.addSql(`create trigger \`audit_cuts_check\` before insert on \`audit_cuts\` when
      new.\`position\` <= (select coalesce(max(\`position\`), 0) from \`audit_cuts\`)
      or not exists (select 1 from \`audit_chain\` where \`position\` = new.\`position\` and \`hash\` = new.\`hash\`)
      or not exists (select 1 from \`audit_chain\` where \`position\` = new.\`position\` + 1)
      or exists (select 1 from \`audit_chain\` c join \`audit_entries\` e on e.\`id\` = c.\`entry_id\`
                 where c.\`position\` <= new.\`position\` and e.\`created_at\` > (unixepoch() - 90 * 86400) * 1000)
      or not exists (select 1 from \`audit_entries\` where \`id\` = new.\`entry_id\` and \`kind\` = 'server.audit_entries_deleted' and instr(\`summary\`, new.\`hash\`) > 0)
      or exists (select 1 from \`audit_cuts\` where \`entry_id\` = new.\`entry_id\` or \`rowid\` = new.\`rowid\`)
      begin select raise(abort, 'only audit entries of more than 90 days ago are deleted, oldest first, and never without an entry that says so'); end;`)
    for (const change of ['update', 'delete'])
      this.addSql(`create trigger \`audit_cuts_keep_${change}\` before ${change} on \`audit_cuts\` begin select raise(abort, 'audit entries are never changed'); end;`)
    this.addSql('drop trigger `audit_entries_keep_delete`;')
    this.addSql(`create trigger \`audit_entries_keep_delete\` before delete on \`audit_entries\`
      when not exists (select 1 from \`audit_chain\` where \`entry_id\` = old.\`id\` and \`position\` <= (select max(\`position\`) from \`audit_cuts\`))
      begin select raise(abort, 'audit entries are never changed'); end;`)
    this.addSql('drop trigger `audit_chain_keep_delete`;')
    this.addSql(`create trigger \`audit_chain_keep_delete\` before delete on \`audit_chain\`
      when old.\`position\` > (select coalesce(max(\`position\`), 0) from \`audit_cuts\`) or exists (select 1 from \`audit_entries\` where \`id\` = old.\`entry_id\`)
      begin select raise(abort, 'audit entries are never changed'); end;`)
    // `insert or replace` deletes rows without running delete triggers.
    this.addSql(`create trigger \`audit_chain_keep_insert\` before insert on \`audit_chain\`
      when exists (select 1 from \`audit_chain\` where \`entry_id\` = new.\`entry_id\` or \`position\` = new.\`position\` or \`rowid\` = new.\`rowid\`)
      begin select raise(abort, 'audit entries are never changed'); end;`)
  }
}
