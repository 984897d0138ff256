import { Migration } from '@mikro-orm/migrations'

// The dependencies of all versions of a package, once each with the number of versions that declare them, so that what depends on a package is found
// without reading every version. Triggers keep them up to date, also for servers of the previous release. They are filled here, and compared with the
// versions when the server starts (server/registry/packages/dependents/service.ts). A source is the URL of a registry, empty if the dependency names
// none.
export class Migration20261127000811_package_requirements extends Migration {
  override up() {
    this.addSql('create table `package_requirements` (`name` text not null, `package_name` text not null, `kind` text not null, `source` text not null, `constraint` text not null, `package_id` text not null references `packages` (`id`) on delete cascade, `is_public` integer not null, `versions` integer not null, primary key (`name`, `package_name`, `kind`, `source`, `constraint`)) without rowid;')
    this.addSql(`insert into package_requirements (${columns}) ${select('true', 'count(*)')};`)
    this.addSql('create index `package_requirements_package_id_index` on `package_requirements` (`package_id`, `kind`, `name`);')
    this.addSql('create index `package_requirements_public_index` on `package_requirements` (`name`, `is_public`, `kind`, `source`, `package_name`);')
    this.addSql(`create trigger package_dependencies_requirements after insert on package_dependencies when new.sdk is null begin
      insert into package_requirements (${columns}) ${select('d.version_id = new.version_id and d.kind = new.kind and d.name = new.name', '1')}
        on conflict (name, package_name, kind, source, "constraint") do update set versions = versions + 1;
    end;`)
    this.addSql(`create trigger package_versions_requirements before delete on package_versions begin
      update package_requirements set versions = versions - 1 where package_id = old.package_id and exists (
        select 1 from package_dependencies d where d.version_id = old.id and d.kind = package_requirements.kind and d.name = package_requirements.name
          and d.sdk is null and coalesce(d.hosted_url, '') = package_requirements.source and d."constraint" = package_requirements."constraint");
      delete from package_requirements where package_id = old.package_id and versions = 0;
    end;`)
    this.addSql(`create trigger packages_requirements after update of visibility on packages when old.visibility <> new.visibility begin
      update package_requirements set is_public = (new.visibility = 'public') where package_id = new.id;
    end;`)
  }
}

const columns = 'name, package_name, package_id, kind, source, "constraint", is_public, versions'

const select = (condition: string, versions: string) => `select d.name, p.name, p.id, d.kind, coalesce(d.hosted_url, ''), d."constraint", p.visibility = 'public', ${versions}
  from package_dependencies d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
  where d.sdk is null and ${condition} group by p.id, d.name, d.kind, coalesce(d.hosted_url, ''), d."constraint"`
